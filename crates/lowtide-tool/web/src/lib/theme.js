// Light and dark: what the system wants, or what the reader chose. Colours are in style.css and nowhere else.
import { el } from './dom.js';

const KEY = 'lowtide-theme';
const CHOICES = ['auto', 'light', 'dark'];
const listeners = new Set();
const system = matchMedia('(prefers-color-scheme: dark)');

function choice() {
  try {
    const kept = localStorage.getItem(KEY);
    return CHOICES.includes(kept) ? kept : 'auto';
  } catch {
    return 'auto'; // a browser that keeps nothing for pages from disk
  }
}

function apply(chosen) {
  const dark = chosen === 'dark' || (chosen === 'auto' && system.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

let current = choice();
apply(current);
system.addEventListener('change', () => apply(current));

/// Calls back whenever the colours have changed; gives what ends that.
export function onThemeChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/// A colour of style.css by its name without dashes, such as `after`.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/// The switch for the head of a page.
export function themeSwitch() {
  const select = el('select', {
    id: 'theme',
    onchange: () => {
      current = select.value;
      try {
        localStorage.setItem(KEY, current);
      } catch {
        // Then it holds until the page is closed.
      }
      apply(current);
    },
  });
  for (const name of CHOICES) select.append(el('option', { value: name, selected: name === current }, name));
  return el('label', { class: 'control' }, 'Theme ', select);
}
