// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as a process that answers: ort_process.py starts it as `node run_ort.js FOLDER`, where FOLDER is an npm
// installation with onnxruntime-node. A line of standard input is one JSON request, a line of standard output its
// answer:
//
//   {"model": "file" or {"bytes": base64}, "optimise": bool, "inputs": {name: tensor}}
//   {"outputs": {name: tensor}} or {"error": text}
//
// A tensor is {"type", "dims", "data": base64}, with the names of types that ONNX Runtime has. Models run on one
// thread.
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));

const arrays = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bfloat16: Uint16Array, int8: Int8Array,
  uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
};

function decode(tensor) {
  const bytes = Uint8Array.from(Buffer.from(tensor.data, 'base64'));
  const Elements = tensor.type === 'float16' && globalThis.Float16Array ? globalThis.Float16Array : arrays[tensor.type];
  return new ort.Tensor(tensor.type, new Elements(bytes.buffer), tensor.dims);
}

function encode(tensor) {
  if (tensor.type === undefined || tensor.data === undefined) throw new Error('a result that is no tensor');
  const { buffer, byteOffset, byteLength } = tensor.data;
  return { type: tensor.type, dims: tensor.dims, data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
}

async function answer(request) {
  const model = typeof request.model === 'string' ? request.model : Buffer.from(request.model.bytes, 'base64');
  const session = await ort.InferenceSession.create(model, {
    graphOptimizationLevel: request.optimise ? 'all' : 'disabled', executionProviders: ['cpu'], intraOpNumThreads: 1,
    interOpNumThreads: 1, logSeverityLevel: 4,
  });
  try {
    const feeds = {};
    for (const [name, tensor] of Object.entries(request.inputs)) feeds[name] = decode(tensor);
    const results = await session.run(feeds);
    const outputs = {};
    for (const [name, tensor] of Object.entries(results)) outputs[name] = encode(tensor);
    return { outputs };
  } finally {
    await session.release();
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let reply;
    try {
      reply = await answer(JSON.parse(line));
    } catch (error) {
      reply = { error: String(error && error.message || error) };
    }
    process.stdout.write(JSON.stringify(reply) + '\n');
  }
})();
