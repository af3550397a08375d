// SPDX-License-Identifier: Apache-2.0
// Runs an ONNX model in ONNX Runtime: node ort_runner.js REQUEST.json, where the request is
//   { ort: folder with node_modules/onnxruntime-node, model, threads, runs,
//     inputs: [{ file, dims }] raw f32 in the order of the model's inputs, outputs: folder }
// Times `runs` runs after a warm-up (0: runs once, untimed), writes output i as raw f32 to `outputs`/i.bin, and prints
// { version, runs_s, outputs: [{ name, dims }] }.
const fs = require('fs');
const path = require('path');

const request = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const packageDir = path.resolve(request.ort, 'node_modules', 'onnxruntime-node');
const ort = require(packageDir);

function readFloats(file) {
  const bytes = fs.readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function main() {
  const session = await ort.InferenceSession.create(request.model, {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    intraOpNumThreads: request.threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const feeds = {};
  request.inputs.forEach((input, i) => {
    feeds[session.inputNames[i]] = new ort.Tensor('float32', readFloats(input.file), input.dims);
  });
  let results = await session.run(feeds);
  const seconds = [];
  if (request.runs > 0) {
    for (let i = 0; i < 3; ++i) await session.run(feeds);
    for (let i = 0; i < request.runs; ++i) {
      const start = process.hrtime.bigint();
      results = await session.run(feeds);
      seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
    }
  }
  const outputs = session.outputNames.map((name, i) => {
    const data = Float32Array.from(results[name].data, Number);
    fs.writeFileSync(path.join(request.outputs, `${i}.bin`), Buffer.from(data.buffer));
    return { name, dims: results[name].dims };
  });
  const { version } = JSON.parse(fs.readFileSync(path.join(packageDir, 'package.json'), 'utf8'));
  console.log(JSON.stringify({ version, runs_s: seconds, outputs }));
}

main().catch((error) => {
  console.error(String(error.message || error));
  process.exit(1);
});
