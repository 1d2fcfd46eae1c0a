"""Order the graph of an ONNX model for its least peak memory, with a proof.

Usage: python onnx_memory.py [MODEL.onnx ...]

Without models, the small copies of well-known networks in the package onnx are used: real graphs and shapes, without weights.

What is measured: bytes of the tensors between operators. A tensor takes space from the operator that makes it until the end of the last one that reads it; the outputs of the model stay.
Inputs and outputs of an operator take space together while it runs. Weights (with all that is computed from weights alone), the model's inputs, workspace of operators, fusion and updates in place are left out.

The program prints the peak of the model's own order, of an order level by level (each operator as soon as possible), and of the best order found, with the proven lower bound.
"""

from __future__ import annotations

import math
import pathlib
import sys

import onnx
import onnx.shape_inference

import lowtide


def tensors(model: onnx.ModelProto) -> dict[str, int]:
    """Return the bytes of each tensor whose shape is known. Unknown sizes, such as that of the batch, count as 1."""
    inferred = onnx.shape_inference.infer_shapes(model)
    sizes = {}
    for value in [*inferred.graph.value_info, *inferred.graph.output]:
        kind = value.type.tensor_type
        shape = [dimension.dim_value or 1 for dimension in kind.shape.dim]
        sizes[value.name] = math.prod(shape) * onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
    return sizes


def computed(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Return the operators whose results depend on the model's inputs. All others compute weights."""
    fixed = {weight.name for weight in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        if all(tensor in fixed for tensor in filter(None, node.input)):
            fixed.update(node.output)
        else:
            nodes.append(node)
    return nodes


def region_of(model: onnx.ModelProto, name: str) -> lowtide.Region:
    """Return the graph of a model as a region: instruction 2i runs operator i, and instruction 2i + 1 lets its inputs go."""
    sizes = tensors(model)
    nodes = computed(model)
    readers: dict[str, list[int]] = {}
    for number, node in enumerate(nodes):
        for tensor in dict.fromkeys(node.input):
            readers.setdefault(tensor, []).append(number)
    kept = {output.name for output in model.graph.output}
    instructions = [(op, 1) for node in nodes for op in (node.op_type, f"end of {node.op_type}")]
    dependences: list[tuple[int, int, str]] = [(2 * number, 2 * number + 1, "barrier") for number in range(len(nodes))]
    values = []
    for number, node in enumerate(nodes):
        for tensor in filter(None, node.output):
            uses = [2 * reader + part for reader in readers.get(tensor, []) for part in (0, 1)]
            dependences += [(2 * number, use, "barrier") for use in uses]
            # Units of 64 bytes: sums of bytes would not fit into 32 bits for large models.
            weight = math.ceil(sizes.get(tensor, 0) / 64)
            if weight > 0 and (uses or tensor in kept):
                values.append({"name": tensor, "class": "memory", "weight": weight, "def": 2 * number, "uses": uses, "live_out": tensor in kept})
    return lowtide.Region(name, instructions, values, dependences)


def by_level(region: lowtide.Region) -> list[int]:
    """Return an order in which every operator runs as soon as possible: all operators of a level, then the next level."""
    level = [0] * len(region)
    for earlier, later, _, _ in sorted(region.dependences(), key=lambda dependence: dependence[1]):
        level[later] = max(level[later], level[earlier] + (later // 2 != earlier // 2))
    operators = sorted(range(len(region) // 2), key=lambda number: (level[2 * number], number))
    return [instruction for number in operators for instruction in (2 * number, 2 * number + 1)]


def main(paths: list[str]) -> None:
    """Print a line for each model."""
    found = [pathlib.Path(path) for path in paths]
    if not found:
        found = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
    print(f"{'model':28} {'operators':>9} {'own order':>10} {'by level':>10} {'best':>10} {'bound':>10}   MB")
    for path in found:
        region = region_of(onnx.load(path), path.stem)
        result = lowtide.schedule(region, target="generic", goal="minreg", nodes=200_000)
        result.check()
        best = result.regions[0]
        peaks = [region.peaks(), region.peaks(by_level(region)), best.peaks, best.peak_bounds]
        figures = " ".join(f"{peak['memory'] * 64 / 1e6:10.2f}" for peak in peaks)
        print(f"{path.stem:28} {len(region) // 2:9} {figures}   {'proven' if best.peaks == best.peak_bounds else 'open'}")


if __name__ == "__main__":
    main(sys.argv[1:])
