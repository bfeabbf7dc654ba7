// SPDX-License-Identifier: Apache-2.0
#include <cubinet/dlpack/tensor_role.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace cubinet::dlpack;

namespace {

// A tensor of bf16 on device 0, and the role that it plays.
struct Case {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides = {};
  DLDataType type = {kDLBfloat, 16, 1};
  DLDevice device = {kDLCUDA, 0};

  TensorView view() const {
    TensorView tensor;
    tensor.address = 0x1000;
    tensor.device = device;
    tensor.type = type;
    tensor.dimensions = static_cast<int>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    return tensor;
  }
};

TensorRole rows() {
  TensorRole role;
  role.name = "q";
  role.type = CUBINET_TYPE_BF16;
  role.dimensions = {{"batch", 2}, {"q_len", 1}, {"heads", 4}, {"head_dim", 8}};
  role.optional_dimension = 1;
  return role;
}

TensorRole table() {
  TensorRole role;
  role.kind = RoleKind::table;
  role.type = CUBINET_TYPE_INT32;
  role.dimensions = {{"batch", 2}, {"pages", TensorRole::kAny, 3}};
  return role;
}

std::string reason(const TensorRole& role, const Case& given) {
  cubinet_tensor target = CUBINET_TENSOR_INIT;
  const auto refusal = describe(role, 0, given.view(), target);
  return refusal ? refusal->reason : "";
}

}  // namespace

TEST_CASE("rows are described by address, bytes and the strides of their outer dimensions") {
  cubinet_tensor target = CUBINET_TENSOR_INIT;
  REQUIRE_FALSE(describe(rows(), 0, Case{{2, 1, 4, 8}, {100, 50, 10, 1}}.view(), target));
  CHECK(target.address == 0x1000);
  CHECK(target.type == CUBINET_TYPE_BF16);
  CHECK(target.bytes == (100 + 3 * 10 + 7 + 1) * 2);
  CHECK(target.strides[0] == 100);
  CHECK(target.strides[2] == 10);
  target = CUBINET_TENSOR_INIT;
  REQUIRE_FALSE(describe(rows(), 0, Case{{2, 4, 8}}.view(), target));
  CHECK(target.bytes == 2 * 4 * 8 * 2);
  CHECK(target.strides[0] == 0);
}

TEST_CASE("a table has the stride of its rows, also where it is wider than it has to be") {
  cubinet_tensor target = CUBINET_TENSOR_INIT;
  const DLDataType integers = {kDLInt, 32, 1};
  REQUIRE_FALSE(describe(table(), 0, Case{{2, 5}, {}, integers}.view(), target));
  CHECK(target.strides[0] == 5);
  CHECK(target.bytes == 40);
  CHECK(reason(table(), {{2, 5}, {0, 1}, integers}) == "has rows that overlap");
  CHECK(reason(table(), {{2, 2}, {}, integers}) == "has the shape [2, 2]; expected [batch=2, pages>=3]");
}

TEST_CASE("a tensor that does not have its role is refused with the reason") {
  CHECK(reason(rows(), {{2, 1, 4, 9}}) ==
        "has the shape [2, 1, 4, 9]; expected [batch=2, q_len=1, heads=4, head_dim=8]");
  CHECK(reason(rows(), {{2, 1, 4}}).find("has the shape [2, 1, 4]") == 0);
  CHECK(reason(rows(), {{2, 1, 4, 8}, {64, 64, 16, 2}}) ==
        "has elements that are not contiguous in its last dimension");
  CHECK(reason(rows(), {{2, 1, 4, 8}, {-32, 32, 8, 1}}) ==
        "has elements that are not contiguous in its last dimension");
  CHECK(reason(rows(), {{2, 1, 4, 8}, {0, 0, 0, 1}}) == "repeats one row in all its dimensions");
  CHECK(reason(rows(), {{2, 1, 4, 8}, {}, {kDLFloat, 16, 1}}) == "has elements of type fp16");
  CHECK(reason(rows(), {{2, 1, 4, 8}, {}, {kDLBfloat, 16, 1}, {kDLCPU, 0}}) == "is in host memory");
  CHECK(reason(rows(), {{2, 1, 4, 8}, {}, {kDLBfloat, 16, 1}, {kDLCUDA, 1}}) == "is on device 1");
  TensorRole unused = rows();
  unused.is_used = false;
  CHECK(reason(unused, {{2, 1, 4, 8}}) == "is not used by this problem");
}

TEST_CASE("scalars have one element, and bytes are contiguous memory of any type") {
  TensorRole scalar;
  scalar.kind = RoleKind::scalar;
  CHECK(reason(scalar, {{1}}).empty());
  CHECK(reason(scalar, {{2}}) == "has the shape [2]; expected one element");
  TensorRole bytes;
  bytes.kind = RoleKind::bytes;
  cubinet_tensor target = CUBINET_TENSOR_INIT;
  REQUIRE_FALSE(describe(bytes, 0, Case{{3, 5}, {}, {kDLUInt, 4, 1}}.view(), target));
  CHECK(target.bytes == 15);  // each element of less than a byte takes one
  CHECK(reason(bytes, {{3, 5}, {9, 1}}) == "is not contiguous");
  TensorRole dense = rows();
  dense.kind = RoleKind::dense;
  CHECK(reason(dense, {{2, 1, 4, 8}, {100, 50, 10, 1}}) == "is not contiguous");
}
