// A box for something wide, such as a table. It scrolls on its own, by keyboard too, and says so where it has to.
import { el } from './dom.js';

export function scrollBox(content, label) {
  const scroll = el('div', { class: 'scroll', role: 'group', 'aria-label': label }, content);
  const hint = el('p', { class: 'hint scroll-hint', hidden: true }, 'Wider than the page: scroll sideways to see all columns →');
  const update = () => {
    const isWide = scroll.scrollWidth > scroll.clientWidth + 1;
    hint.hidden = !isWide;
    // Only what scrolls has to be reached by Tab.
    if (isWide || scroll.scrollHeight > scroll.clientHeight + 1) scroll.tabIndex = 0;
    else scroll.removeAttribute('tabindex');
    scroll.classList.toggle('more-left', isWide && scroll.scrollLeft > 1);
    scroll.classList.toggle('more-right', isWide && scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1);
  };
  scroll.addEventListener('scroll', update, { passive: true });
  const observer = new ResizeObserver(update);
  observer.observe(scroll);
  observer.observe(content);
  return el('div', { class: 'scrollbox' }, hint, scroll);
}
