// Figures of kernels and regions in words. They all come from the program; nothing is computed anew but sums.
import { change, el, number } from '../lib/index.js';
import { kernelBefore } from './baseline.js';

export const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);
export const most = (items, of) => items.reduce((largest, item) => Math.max(largest, of(item)), 0);

/// The class that matters most for a region.
export const primary = (region) => region.classes[region.primary];
const peakOf = (peaks, region) => peaks[primary(region)] ?? 0;

/// The figures of a kernel over all its regions, now and in its baseline (`before`).
export function kernelFigures(kernel) {
  const { regions } = kernel;
  return {
    instructions: sum(regions, (region) => region.n),
    before: kernelBefore(kernel),
    occupancy: kernel.occupancy,
    occupancyBound: kernel.occupancy_bound,
    peak: most(regions, (region) => peakOf(region.peak, region)),
    peakBound: most(regions, (region) => peakOf(region.peak_bound, region)),
    length: sum(regions, (region) => region.length),
    lengthBound: sum(regions, (region) => region.length_bound),
    weightedLength: kernel.weighted_length,
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
