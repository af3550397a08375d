// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/model/constants.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>

#include "compiler/ir/analysis/infer.h"
#include "runtime/core/element.h"
#include "runtime/core/filled.h"
#include "runtime/core/random.h"
#include "runtime/core/storage.h"
#include "runtime/io/element_formats.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/npy.h"

namespace collage::sema {
namespace {

using ir::Constant;
using ir::DType;
using ir::Tensor;
using ir::TensorType;
using support::Code;
using support::Diagnostics;
using syntax::Scalar;

/// False if `value` is finite and as an element of the float dtype is not.
bool store_real(DType dtype, double value, std::byte* at) {
  runtime::set_element({dtype, {}, at}, 0, value);
  return runtime::holds(dtype, value);
}

/// Returns false if `value`, an int64_t or uint64_t, does not fit `dtype`.
template <typename Integer>
bool store_int(DType dtype, Integer value, std::byte* at) {
  if (is_float(dtype)) return store_real(dtype, static_cast<double>(value), at);
  const std::optional<runtime::StorageType> type = runtime::storage_type_of(dtype);
  const bool fits = type ? runtime::can_store(*type, value) : value == 0 || value == 1;
  if (!fits) return false;
  with_element_type(dtype, [&]<typename T>(runtime::Type<T>) { *reinterpret_cast<T*>(at) = static_cast<T>(value); });
  return true;
}

/// Writes one element. Returns false after an error.
bool store(DType dtype, const Scalar& scalar, std::byte* at, Diagnostics& diags) {
  if (const auto* flag = std::get_if<bool>(&scalar.value)) {
    if (dtype != DType::Bool) {
      return diags.error(Code::BadConstant, scalar.span, "a bool in a constant of {}", name_of(dtype));
    }
    return store_int(dtype, int64_t{*flag ? 1 : 0}, at);
  }
  if (const auto* integer = std::get_if<int64_t>(&scalar.value)) {
    if (store_int(dtype, *integer, at)) return true;
    return diags.error(Code::BadConstant, scalar.span, "{} does not fit {}", *integer, name_of(dtype));
  }
  if (const auto* integer = std::get_if<uint64_t>(&scalar.value)) {
    if (store_int(dtype, *integer, at)) return true;
    return diags.error(Code::BadConstant, scalar.span, "{} does not fit {}", *integer, name_of(dtype));
  }
  if (const auto* real = std::get_if<double>(&scalar.value)) {
    if (!is_float(dtype)) {
      return diags.error(Code::BadConstant, scalar.span, "a fraction in a constant of {}", name_of(dtype));
    }
    if (store_real(dtype, *real, at)) return true;
    return diags.error(Code::BadConstant, scalar.span, "{} does not fit {}", *real, name_of(dtype));
  }
  return diags.error(Code::BadConstant, scalar.span, "a string in a constant");
}

}  // namespace

std::optional<TensorType> resolve_type(const syntax::TypeAst& type, Diagnostics& diags) {
  std::optional<DType> dtype = runtime::parse_dtype(type.dtype.text);
  if (!dtype) {
    return diags.error(Code::TypeMismatch, type.dtype.span, "unknown element type `{}`", type.dtype.text)
        .note("element types are {}", fmt::join(runtime::dtype_names(), " "));
  }
  TensorType resolved{*dtype, {}};
  for (const syntax::DimAst& dim : type.dims) {
    if (dim.is_open()) {
      return diags.error(Code::TypeMismatch, dim.symbol.span, "dimension `{}` has no size", dim.symbol.text)
          .note("a dimension is open in the type of an input, and there `--shape {}=N` fixes it", dim.symbol.text);
    }
    resolved.shape.push_back(dim.size);
  }
  if (auto problem = ir::type_problem(resolved)) {
    return diags.error(Code::BadLiteral, type.span, "no tensor can have this type: it {}", *problem);
  }
  return resolved;
}

namespace {

/// A bound of a range, which must be a finite number of `dtype`.
std::optional<double> read_bound(DType dtype, const Scalar& scalar, Diagnostics& diags) {
  Tensor bound(dtype, {});
  if (!store(dtype, scalar, bound.data(), diags)) return std::nullopt;
  const auto* real = std::get_if<double>(&scalar.value);
  const auto* big = std::get_if<uint64_t>(&scalar.value);
  double value = real != nullptr  ? *real
                 : big != nullptr ? static_cast<double>(*big)
                                  : static_cast<double>(std::get<int64_t>(scalar.value));
  if (std::isfinite(value)) return value;
  return diags.error(Code::BadConstant, scalar.span, "the bounds of a range must be finite");
}

}  // namespace

std::optional<Tensor> make_dense(const syntax::DenseAst& dense, Diagnostics& diags) {
  std::optional<TensorType> type = resolve_type(dense.type, diags);
  if (!type) return std::nullopt;
  // Compared before any allocation: the length of the text limits the size.
  auto count = static_cast<size_t>(runtime::element_count(type->shape));
  if (count != dense.elements.size()) {
    return diags.error(Code::BadConstant, dense.span, "`{}` has {} elements, {} are written", to_string(*type), count,
                       dense.elements.size());
  }
  Tensor tensor(type->dtype, type->shape);
  bool fits = true;
  for (size_t i = 0; i < count && fits; ++i) {
    fits = store(type->dtype, dense.elements[i], tensor.data() + i * size_of(type->dtype), diags);
  }
  if (!fits) return std::nullopt;
  return tensor;
}

std::optional<Constant> ConstantMaker::make(const syntax::ConstAst& ast) {
  return std::visit([this](const auto& form) { return make(form); }, ast.form);
}

bool ConstantMaker::reserve(const TensorType& type, support::Span span) {
  if (elements_ == Elements::Never) return true;
  if (type.bytes() > kMaxMadeUpBytes - made_up_bytes_) {
    return diags_.error(Code::BadConstant, span, "the model's own constants need more than {} GiB",
                        kMaxMadeUpBytes >> 30);
  }
  made_up_bytes_ += type.bytes();
  return true;
}

std::optional<Constant> ConstantMaker::make(const syntax::DenseAst& ast) {
  std::optional<Tensor> tensor = make_dense(ast, diags_);
  if (!tensor) return std::nullopt;
  Constant constant;
  constant.data = *tensor;
  return constant;
}

std::optional<Constant> ConstantMaker::make(const syntax::SplatAst& ast) {
  std::optional<TensorType> type = resolve_type(ast.type, diags_);
  if (!type || !reserve(*type, ast.type.span)) return std::nullopt;
  Tensor one(type->dtype, {});
  if (!store(type->dtype, ast.value, one.data(), diags_)) return std::nullopt;
  Constant constant;
  constant.form = Constant::Form::Splat;
  constant.splat = element_as_double(one.view(), 0);
  const std::span<const std::byte> element(one.data(), one.bytes());
  constant.data = type->bytes() < kLateBytes ? runtime::filled_tensor(type->dtype, type->shape, element)
                                             : runtime::late_filled_tensor(type->dtype, type->shape, element);
  if (!is_float(type->dtype) && std::abs(constant.splat) > 0x1p53) {
    constant.form = Constant::Form::Literal;  // a double cannot represent it
  }
  return constant;
}

std::optional<Constant> ConstantMaker::make(const syntax::RandomAst& ast) {
  std::optional<TensorType> type = resolve_type(ast.type, diags_);
  if (!type) return std::nullopt;
  bool is_integer = !is_float(type->dtype);
  if (type->dtype == DType::Bool) {
    return diags_.error(Code::BadConstant, ast.type.dtype.span, "random constants cannot be bool");
  }
  if (is_integer && !ast.range) {
    return diags_
        .error(Code::BadConstant, ast.type.dtype.span, "random constants of {} need bounds", name_of(type->dtype))
        .note("write `random seed N in [LOW, HIGH] : TYPE`");
  }
  auto seed = std::get<int64_t>(ast.seed.value);
  if (seed < 0) return diags_.error(Code::BadConstant, ast.seed.span, "a seed must not be negative");
  Constant constant;
  constant.form = Constant::Form::Random;
  constant.seed = static_cast<uint64_t>(seed);
  if (ast.range) {
    std::optional<double> low = read_bound(type->dtype, ast.range->low, diags_);
    std::optional<double> high = read_bound(type->dtype, ast.range->high, diags_);
    if (!low || !high) return std::nullopt;
    if (is_integer && std::max(std::abs(*low), std::abs(*high)) > 0x1p53) {
      return diags_.error(Code::BadConstant, ast.range->span, "the bounds of random integers must be at most 2^53");
    }
    bool is_too_wide = is_integer ? *high - *low >= 0x1p32 : !std::isfinite(*high - *low);
    if (*low > *high || is_too_wide) {
      return diags_.error(Code::BadConstant, ast.range->span, "the range is {}",
                          *low > *high ? "empty: its lower bound comes first" : "too wide");
    }
    constant.low = *low;
    constant.high = *high;
  }
  if (!reserve(*type, ast.type.span)) return std::nullopt;
  const auto made = type->bytes() < kLateBytes ? runtime::random_tensor : runtime::late_random_tensor;
  constant.data = made(type->dtype, type->shape, constant.seed, constant.low, constant.high);
  return constant;
}

const runtime::NamedTensors* ConstantMaker::tensors_of(const std::string& path, support::Span span) {
  auto known = files_.find(path);
  if (known != files_.end()) return known->second ? &*known->second : nullptr;
  std::optional<runtime::NamedTensors>& entry = files_[path];
  const runtime::Result<runtime::Descriptor> file = access_.open(path, model_dir_);
  if (!file && file.message() == support::kOutside) {
    diags_.error(Code::CannotRead, span, "this file {}", support::kOutside).note("{}", support::kOutsideHint);
    return nullptr;
  }
  const runtime::Result<std::string> bytes = file ? runtime::read_all(*file) : file.status();
  if (!bytes) {
    diags_.error(Code::BadConstant, span, "cannot read '{}': {}", path, bytes.message());
    return nullptr;
  }
  const auto fail = [&](const runtime::Status& status) {
    diags_.error(Code::BadConstant, span, "'{}': {}", path, status.message());
    return nullptr;
  };
  if (path.ends_with(".npy")) {
    runtime::Result<Tensor> tensor = runtime::parse_npy(*bytes);
    if (!tensor) return fail(tensor.status());
    entry.emplace().emplace("", *tensor);
  } else {
    runtime::Result<runtime::NamedTensors> tensors = runtime::parse_safetensors(*bytes);
    if (!tensors) return fail(tensors.status());
    entry = std::move(*tensors);
  }
  return &*entry;
}

std::optional<Constant> ConstantMaker::make(const syntax::FileAst& ast) {
  std::optional<TensorType> type = resolve_type(ast.type, diags_);
  Constant constant;
  constant.form = Constant::Form::File;
  constant.file = std::get<std::string>(ast.path.value);
  if (ast.key) constant.key = std::get<std::string>(ast.key->value);
  bool is_npy = constant.file.ends_with(".npy");
  if (is_npy && ast.key) {
    return diags_.error(Code::BadConstant, ast.key->span, "a .npy file holds one tensor, which has no name");
  }
  if (!is_npy && !ast.key) {
    return diags_.error(Code::BadConstant, ast.path.span, "the name of the tensor in the file is missing");
  }
  const auto* tensors = tensors_of((std::filesystem::path(model_dir_) / constant.file).string(), ast.path.span);
  if (!type || tensors == nullptr) return std::nullopt;
  auto found = tensors->find(constant.key);
  if (found == tensors->end()) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : *tensors) names.push_back(name);
    return diags_.error(Code::BadConstant, ast.key->span, "`{}` has no tensor `{}`", constant.file, constant.key)
        .did_you_mean(support::closest(constant.key, names));
  }
  TensorType actual{found->second.dtype(), found->second.shape()};
  if (std::optional<Tensor> wide = runtime::widened(found->second, type->dtype); wide && actual.shape == type->shape) {
    constant.data = *wide;
    return constant;
  }
  if (actual != *type) {
    return diags_.error(Code::BadConstant, ast.type.span, "the file has `{}`, `{}` is declared", to_string(actual),
                        to_string(*type));
  }
  constant.data = found->second;
  return constant;
}

}  // namespace collage::sema
