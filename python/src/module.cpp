// SPDX-License-Identifier: Apache-2.0
// The module `_collage`: include/collage/collage.hpp for Python, for the package `collage` alone. What works on files,
// compiles or runs releases the GIL. A compiler, its models and its placements are used by one thread at a time; the
// package has a lock for each.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <optional>
#include <string>

#include "include/collage/collage.hpp"
#include "python/src/dynamic_program.h"
#include "python/src/program.h"
#include "python/src/text.h"
#include "python/src/watched_compiler.h"

namespace py = pybind11;

using collage::python::DynamicProgram;
using collage::python::Operand;
using collage::python::Port;
using collage::python::Program;
using collage::python::Tensor;

namespace {

using Released = py::call_guard<py::gil_scoped_release>;

/// Failures as `Failure`, whose text may hold any bytes.
void translate_failure(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const collage::Error& error) {
    const py::object type = py::module_::import("collage._collage").attr("Failure");
    PyErr_SetObject(type.ptr(), collage::python::decoded(error.what()).ptr());
  }
}

PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s: programs make these objects, nothing else does", type->tp_name);
  return nullptr;
}

/// `__new__` would give an object of pybind11 without one of C++ in it.
py::custom_type_setup without_new() {
  return py::custom_type_setup([](PyHeapTypeObject* type) { type->ht_type.tp_new = refuse_new; });
}

/// What `made` returns, which may hold any bytes; without the GIL meanwhile.
template <typename Make>
py::str released_text(Make&& made) {
  std::string text;
  {
    const py::gil_scoped_release released;
    text = made();
  }
  return collage::python::decoded(text);
}

py::tuple shape_of(const std::vector<int64_t>& shape) {
  py::tuple tuple(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) tuple[i] = shape[i];
  return tuple;
}

/// None, or work, done, of and detail.
py::object progress_of(const collage::python::WatchedCompiler& compiler) {
  const std::optional<collage::python::Progress> now = compiler.progress();
  if (!now) return py::none();
  return py::make_tuple(now->work, now->done, now->of, collage::python::decoded(now->detail));
}

void bind_compiler(py::module_& m) {
  using collage::Model;
  using collage::Placement;
  using Compiler = collage::python::WatchedCompiler;
  py::class_<Compiler>(m, "Compiler")
      .def(py::init<>())
      .def("set", [](Compiler& c, const std::string& name, const std::string& value) { c.set(name, value); })
      .def(
          "rules", [](Compiler& c, const std::vector<std::string>& paths) { c.rules(paths); }, Released())
      .def("file", [](Compiler& c, const std::string& path, const py::bytes& bytes) { c.file(path, bytes); })
      .def("forget_file", [](Compiler& c, const std::string& path) { c.forget_file(path); })
      .def("load", &Compiler::load, Released())
      .def("backends_json", [](const Compiler& c) { return released_text([&] { return c.backends_json(); }); })
      .def(
          "stop", [](const Compiler& c, bool stops) { c.stop(stops); }, py::arg("stops") = true)
      .def("progress", &progress_of)
      .def("clear_diagnostics", &Compiler::clear_diagnostics)
      .def("diagnostics_json", [](const Compiler& c) { return collage::python::decoded(c.diagnostics_json()); })
      .def("profile_json",
           [](const Compiler& c, const Program& program, const py::tuple& by_place, const py::dict& by_name) {
             const bool is_given = !by_place.empty() || !by_name.empty();
             if (is_given && program.is_shaped()) {
               const collage::python::Arrays given = program.arrays(by_place, by_name);
               const std::vector<collage::Array> arrays = given.arrays();
               return released_text([&] { return c.profile_arrays_json(program.executable(), arrays); });
             }
             std::vector<Operand> operands;
             if (is_given) operands = program.operands(by_place, by_name);
             std::vector<const void*> inputs;
             for (const Operand& operand : operands) inputs.push_back(operand.data);
             return released_text([&] { return c.profile_json(program.executable(), inputs); });
           });
  py::class_<Model>(m, "Model", without_new()).def("place", &Model::place, Released());
  py::class_<Placement>(m, "Placement", without_new())
      .def("value", &Placement::value, Released())
      .def("bound", &Placement::bound)
      .def("summary", [](const Placement& p) { return released_text([&] { return p.summary(); }); })
      .def("text", [](const Placement& p) { return released_text([&] { return p.text(); }); })
      .def("json", [](const Placement& p) { return released_text([&] { return p.json(); }); })
      .def("summary_json", [](const Placement& p) { return released_text([&] { return p.summary_json(); }); })
      .def("nodes_json", [](const Placement& p) { return released_text([&] { return p.nodes_json(); }); })
      .def("why_json", [](const Placement& p,
                          const std::string& nodes) { return released_text([&] { return p.why_json(nodes); }); })
      .def("why_not_json",
           [](const Placement& p, const std::string& nodes, const std::string& backend) {
             return released_text([&] { return p.why_not_json(nodes, backend); });
           })
      .def("compare_json",
           [](const Placement& p, int runs) { return released_text([&] { return p.compare_json(runs); }); })
      .def("measure", &Placement::measure, Released())
      .def("build", [](const Placement& placement, int threads) {
        std::optional<collage::Executable> executable;
        {
          const py::gil_scoped_release released;
          executable.emplace(placement.build());
        }
        return std::make_unique<Program>(std::move(*executable), threads);
      });
}

/// One result, or a tuple of them, as arrays.
py::object arrays_of(const std::vector<Tensor>& results) {
  if (results.size() == 1) return results[0].numpy();
  py::tuple arrays(results.size());
  for (size_t i = 0; i < results.size(); ++i) arrays[i] = results[i].numpy();
  return arrays;
}

py::tuple objects_of(std::vector<Tensor> results) {
  py::tuple tensors(results.size());
  size_t i = 0;
  for (Tensor& result : results) tensors[i++] = py::cast(std::move(result));
  return tensors;
}

void bind_dynamic_program(py::module_& m) {
  py::class_<DynamicProgram>(m, "DynamicProgram", without_new())
      .def_static("open", [](const collage::python::WatchedCompiler& compiler, const std::string& path,
                             size_t kept) { return std::make_unique<DynamicProgram>(compiler, path, kept); })
      .def_property_readonly("inputs", &DynamicProgram::inputs)
      .def_property_readonly("result_names", &DynamicProgram::result_names)
      .def_property_readonly("made", &DynamicProgram::made)
      .def("run", [](DynamicProgram& program, const py::tuple& by_place,
                     const py::dict& by_name) { return arrays_of(program.run(by_place, by_name)); })
      .def("run_tensors", [](DynamicProgram& program, const py::tuple& by_place, const py::dict& by_name) {
        return objects_of(program.run(by_place, by_name));
      });
}

void bind_program(py::module_& m) {
  py::class_<Port>(m, "Port", without_new(), "An input or output of a program.")
      .def_readonly("name", &Port::name)
      .def_property_readonly("dtype", [](const Port& port) { return port.element->name; })
      .def_readonly("numpy_dtype", &Port::numpy)
      .def_property_readonly("shape", [](const Port& port) { return shape_of(port.shape); })
      .def_readonly("nbytes", &Port::bytes)
      .def("__repr__",
           [](const Port& port) { return "<" + port.name + ": " + to_string(*port.element, port.shape) + ">"; });
  py::class_<Program>(m, "Program", without_new())
      .def_static("load",
                  [](const std::string& path, int threads) {
                    std::optional<collage::Executable> executable;
                    {
                      const py::gil_scoped_release released;
                      executable.emplace(collage::Executable::load(path));
                    }
                    return std::make_unique<Program>(std::move(*executable), threads);
                  })
      .def_property_readonly("inputs", &Program::inputs)
      .def_property_readonly("outputs", &Program::outputs)
      .def_property_readonly("shapes", &Program::shapes)
      .def("predicted_seconds", [](const Program& program) { return program.executable().predicted_seconds(); })
      .def("placed", [](const Program& program) { return collage::python::decoded(program.executable().placed()); })
      .def(
          "save", [](const Program& program, const std::string& path) { program.executable().save(path); }, Released())
      .def("run",
           [](Program& program, const py::tuple& by_place, const py::dict& by_name) -> py::object {
             const std::vector<Tensor> results = program.run(by_place, by_name);
             if (results.size() == 1) return results[0].numpy(program.outputs()[0].numpy);
             py::tuple arrays(results.size());
             for (size_t i = 0; i < results.size(); ++i) arrays[i] = results[i].numpy(program.outputs()[i].numpy);
             return arrays;
           })
      .def("run_tensors", [](Program& program, const py::tuple& by_place, const py::dict& by_name) {
        return objects_of(program.run(by_place, by_name));
      });
}

void bind_tensor(py::module_& m) {
  py::class_<Tensor>(m, "Tensor", without_new(),
                     "A result in the memory of the host, for NumPy and for whoever takes DLPack.")
      .def_property_readonly("dtype", [](const Tensor& tensor) { return tensor.element().name; })
      .def_property_readonly("shape", [](const Tensor& tensor) { return shape_of(tensor.shape()); })
      .def(
          "numpy", [](const Tensor& tensor) { return tensor.numpy(); },
          "An array over the same memory. Types that NumPy lacks show their bits: bf16 as uint16.")
      .def(
          "__array__",
          [](const Tensor& tensor, const py::object& dtype, const py::object& copy) -> py::object {
            const py::array array = tensor.numpy();
            if (!dtype.is_none()) return array.attr("astype")(dtype);
            const bool copies = !copy.is_none() && copy.cast<bool>();
            return copies ? array.attr("copy")() : py::object(array);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "__dlpack__", [](const Tensor& tensor, const py::object&) { return tensor.dlpack(); },
          py::arg("stream") = py::none())
      .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(static_cast<int>(kDLCPU), 0); })
      .def("__repr__",
           [](const Tensor& tensor) { return "<collage.Tensor " + to_string(tensor.element(), tensor.shape()) + ">"; });
  m.def(
      "empty",
      [](const std::vector<int64_t>& shape, const py::object& of) {
        const py::dtype dtype = py::dtype::from_args(of);
        size_t bytes = static_cast<size_t>(dtype.itemsize());
        for (const int64_t dim : shape) {
          if (dim < 0) throw py::value_error("a dimension is negative");
          if (__builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes)) throw std::bad_alloc();
        }
        if (dtype.attr("hasobject").cast<bool>()) throw py::type_error("objects of Python have no elements");
        const collage::python::Memory memory = collage::python::allocate(bytes);
        const py::capsule owner(new collage::python::Memory(memory),
                                [](void* kept) { delete static_cast<collage::python::Memory*>(kept); });
        return py::array(dtype, std::vector<py::ssize_t>(shape.begin(), shape.end()), memory.get(), owner);
      },
      py::arg("shape"), py::arg("dtype"));
  m.def("element_types", [] {
    py::dict types;
    for (const collage::python::Element& element : collage::python::all_elements())
      types[element.name] = py::dtype(element.numpy);
    return types;
  });
}

}  // namespace

PYBIND11_MODULE(_collage, m) {
  m.doc() = "Collage's C++ interface, for the package `collage` alone.";
  m.attr("version") = collage_compiler_version();
  py::exception<collage::Error>(m, "Failure");
  py::register_exception_translator(translate_failure);
  bind_compiler(m);
  bind_program(m);
  bind_dynamic_program(m);
  bind_tensor(m);
}
