// Figures of kernels and regions in words. They all come from the program; nothing is computed anew but sums.
import { change, el, number } from '../lib/index.js';

export const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);
export const most = (items, of) => items.reduce((largest, item) => Math.max(largest, of(item)), 0);

/// The class that matters most for a region.
export const primary = (region) => region.classes[region.primary];
const peakOf = (peaks, region) => peaks[primary(region)] ?? 0;

/// What a kernel amounts to in all: in the source order, in that of the production compiler, and now.
export function kernelFigures(kernel) {
  const { regions } = kernel;
  const before = (name) => {
    // Where no order is recorded, the source order is as good a guess as any.
    const of = (region) => region[name] ?? region.source;
    return {
      occupancy: Math.min(kernel.most_waves, ...regions.map((region) => of(region).occupancy)),
      peak: most(regions, (region) => peakOf(of(region).peak, region)),
      length: sum(regions, (region) => of(region).length),
    };
  };
  return {
    instructions: sum(regions, (region) => region.n),
    source: before('source'),
    production: regions.some((region) => region.production) ? before('production') : null,
    occupancy: kernel.occupancy,
    occupancyBound: kernel.occupancy_bound,
    peak: most(regions, (region) => peakOf(region.peak, region)),
    peakBound: most(regions, (region) => peakOf(region.peak_bound, region)),
    length: sum(regions, (region) => region.length),
    lengthBound: sum(regions, (region) => region.length_bound),
    proven: regions.filter((region) => region.optimal).length,
  };
}

/// 7 → 9 (≤ 10): the bound is worth its place only where something is left to gain.
export function withBound(before, after, relation, bound) {
  const text = change(before, after);
  return after === bound ? text : `${text} (${relation} ${number(bound)})`;
}

/// A figure with a name and a remark.
export function tile(name, figure, remark = null) {
  return el('div', { class: 'tile' }, el('dt', {}, name), el('dd', {}, figure, remark ? el('small', {}, remark) : null));
}

export const tiles = (...items) => el('dl', { class: 'tiles' }, items);
