// Tabs as screen readers know them: arrows go from one to the next; what is in one is made when it is opened.
import { el } from './dom.js';

let count = 0;

/// `tabs`: {name, title, render(panel)}; `render` is called once, when the tab is first opened. A panel that is
/// opened again gets the event `shown`. `onselect(name)`.
/// Gives the element, `start()` to call once it is in the page, and `open(name)`.
export function tabs({ tabs, label, selected = tabs[0].name, onselect = () => {} }) {
  const prefix = `tabs-${count++}`;
  const list = el('div', { role: 'tablist', 'aria-label': label });
  const element = el('div', { class: 'tabs' }, list);
  const items = tabs.map((tab, position) => {
    const button = el('button', {
      type: 'button',
      role: 'tab',
      id: `${prefix}-tab-${tab.name}`,
      'aria-controls': `${prefix}-panel-${tab.name}`,
      'data-tab': tab.name,
      onclick: () => select(position),
      onkeydown: (event) => step(event, position),
    }, tab.title);
    const panel = el('div', {
      role: 'tabpanel',
      id: `${prefix}-panel-${tab.name}`,
      'aria-labelledby': button.id,
      'data-panel': tab.name,
      hidden: true,
    });
    list.append(button);
    element.append(panel);
    return { tab, button, panel, rendered: false };
  });

  function select(position) {
    items.forEach((item, own) => {
      item.button.setAttribute('aria-selected', String(own === position));
      item.button.tabIndex = own === position ? 0 : -1;
      item.panel.hidden = own !== position;
    });
    const item = items[position];
    if (item.rendered) item.panel.dispatchEvent(new Event('shown'));
    else item.tab.render(item.panel);
    item.rendered = true;
    onselect(item.tab.name);
  }

  function step(event, position) {
    const last = items.length - 1;
    const next = { ArrowRight: position === last ? 0 : position + 1, ArrowLeft: position === 0 ? last : position - 1,
      Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select(next);
    items[next].button.focus();
  }

  // Charts need a place in the page before they are drawn.
  const start = () => select(Math.max(0, items.findIndex((item) => item.tab.name === selected)));
  const open = (name) => select(items.findIndex((item) => item.tab.name === name));
  return { element, start, open };
}
