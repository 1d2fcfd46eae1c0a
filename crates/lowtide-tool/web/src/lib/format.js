// Numbers as a person reads them. The same everywhere, whatever the language of the browser.

/// 1234567 -> 1,234,567; fractions get so many digits.
export function number(value, digits = 0) {
  if (value === null || value === undefined) return '–';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/// 7 and 9 -> 7 → 9; equal ones once.
export function change(before, after) {
  return before === after ? number(after) : `${number(before)} → ${number(after)}`;
}

/// 0.25 -> 250 ms
export function seconds(value) {
  if (value === null || value === undefined) return '–';
  if (value === 0) return '0 s';
  if (value < 1e-3) return `${(value * 1e6).toPrecision(3)} µs`;
  if (value < 1) return `${(value * 1e3).toPrecision(3)} ms`;
  return `${number(value, value < 10 ? 2 : 1)} s`;
}

/// 0.125 -> 12.5 %
export function percent(share) {
  return `${number(share * 100, 1)} %`;
}

/// 1, 'region' -> 1 region; 2, 'region' -> 2 regions
export function counted(count, what) {
  return `${number(count)} ${what}${count === 1 ? '' : 's'}`;
}
