// The order that Lowtide's is compared with, by the rule of the program: each kernel names its own.

/// The figures of a kernel in its baseline.
export const kernelBefore = (kernel) => kernel[kernel.baseline];

/// The figures of a region in the baseline of its kernel. Where its production order is not recorded, that is the source order.
export const regionBefore = (region) => (baselineOf(region) === 'production' ? region.production : region.source);

export const baselineOf = (region) => (region.kernel.baseline === 'production' && region.production ? 'production' : 'source');

/// The baseline of several kernels in words.
export function baselineInWords(kernels) {
  const names = new Set(kernels.map((kernel) => kernel.baseline));
  if (names.size > 1) return 'the production order (or the source order, where none is recorded)';
  return names.has('production') ? 'the production order' : 'the source order';
}

/// `against production`, for tiles.
export function against(kernels) {
  const names = new Set(kernels.map((kernel) => kernel.baseline));
  return names.size > 1 ? 'against production or source' : `against ${[...names][0] ?? 'source'}`;
}
