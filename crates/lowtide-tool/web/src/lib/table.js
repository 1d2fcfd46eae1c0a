// A table that sorts by any column, by mouse and keyboard, and shows long lists in portions.
import { el } from './dom.js';
import { scrollBox } from './scrollbox.js';

const PORTION = 200;

/// `columns`: {title, value(row) to sort by, text(row) to show, numeric, hint, element(row) instead of the text}.
/// `onopen(row)`: called where a row is chosen, by click or Enter; the first column then has the button.
/// `sort`: {column, descending} to start with. `label`: what the table is, for screen readers.
/// `isMarked(row)`: whether a row is marked.
/// The element that is given has `setRows(rows)`, to show others, and `refresh()`, which marks rows anew and
/// scrolls to the first one that is marked.
export function sortableTable({ columns, rows, label, onopen, sort = null, id = null, isMarked = () => false }) {
  let order = [...rows];
  let sorted = sort;
  let shown = PORTION;
  const head = el('tr');
  const body = el('tbody');
  const more = el('button', { type: 'button', class: 'more', onclick: () => { shown += PORTION * 5; fill(); } });
  const table = el('table', { 'aria-label': label, id }, el('thead', {}, head), body);

  columns.forEach((column, position) => {
    const button = el('button', { type: 'button', title: column.hint, onclick: () => sortBy(position) }, column.title);
    head.append(el('th', { scope: 'col', class: column.numeric ? 'numeric' : null }, button));
  });

  function sortBy(position) {
    const descending = sorted?.column === position ? !sorted.descending : Boolean(columns[position].numeric);
    sorted = { column: position, descending };
    arrange();
  }

  function arrange() {
    order = [...rows];
    if (sorted) {
      const { value } = columns[sorted.column];
      const sign = sorted.descending ? -1 : 1;
      const compare = (a, b) =>
        typeof a === 'string' && typeof b === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b;
      order.sort((one, other) => sign * compare(value(one), value(other)));
    }
    [...head.children].forEach((cell, position) => {
      const own = sorted?.column === position;
      cell.setAttribute('aria-sort', own ? (sorted.descending ? 'descending' : 'ascending') : 'none');
    });
    fill();
  }

  function fill() {
    const focused = body.contains(document.activeElement);
    body.replaceChildren(...order.slice(0, shown).map(rowOf));
    more.hidden = shown >= order.length;
    more.textContent = `Show more (${order.length - shown} left)`;
    if (focused) body.querySelector('button')?.focus();
  }

  function rowOf(row) {
    const cells = columns.map((column, position) => {
      let content = column.element ? column.element(row) : (column.text ?? column.value)(row);
      const opens = onopen && position === 0;
      if (opens) content = el('button', { type: 'button', class: 'open' }, content);
      const attributes = { class: column.numeric ? 'numeric' : null };
      return opens ? el('th', { scope: 'row', ...attributes }, content) : el('td', attributes, content);
    });
    const element = el('tr', { class: onopen ? 'opens' : null, 'aria-current': isMarked(row) ? 'true' : null }, cells);
    element.row = row;
    if (onopen) {
      element.addEventListener('click', () => onopen(row));
      element.addEventListener('keydown', (event) => move(event, element));
    }
    return element;
  }

  // Arrows go from row to row; Tab goes on to what follows, as everywhere.
  function move(event, element) {
    const next = { ArrowDown: element.nextElementSibling, ArrowUp: element.previousElementSibling,
      Home: body.firstElementChild, End: body.lastElementChild }[event.key];
    if (!next) return;
    event.preventDefault();
    next.querySelector('button').focus();
  }

  arrange();
  const element = el('div', { class: 'table' }, scrollBox(table, label), more);
  element.setRows = (others) => {
    rows = others;
    shown = PORTION;
    arrange();
  };
  element.refresh = () => {
    const first = order.findIndex(isMarked);
    if (first >= shown) {
      shown = first + PORTION;
      fill();
    }
    for (const line of body.children) {
      if (isMarked(line.row)) line.setAttribute('aria-current', 'true');
      else line.removeAttribute('aria-current');
    }
    body.children[first]?.scrollIntoView({ block: 'nearest' });
  };
  return element;
}
