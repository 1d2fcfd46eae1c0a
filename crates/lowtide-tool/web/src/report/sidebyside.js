// The instructions of all orders side by side: where each one moved from, the pressure after it, and the peak.
import { el, number, scrollBox } from '../lib/index.js';

const PORTION = 200;

/// The table of a class. Gives the element and `refresh()`, which marks the selected instruction and scrolls to it.
export function sideBySide({ model, selection }, classNumber) {
  const { schedules } = model;
  const highest = Math.max(1, ...schedules.map((schedule) => schedule.peaks[classNumber].value));
  const moved = new Map(schedules.map((schedule) => [schedule, new Set(schedule.moved)]));
  const body = el('tbody', { onclick: (event) => choose(event), onkeydown: (event) => move(event) });
  const more = el('button', { type: 'button', class: 'more', onclick: () => fill(shown + 5 * PORTION) });
  let shown = 0;

  const head = el('thead', {},
    el('tr', {}, el('th', { scope: 'col', rowspan: 2, class: 'numeric' }, 'Place'),
      schedules.map((schedule) => el('th', { scope: 'colgroup', colspan: 3, class: `order ${schedule.name}` }, titleOf(schedule)))),
    el('tr', {}, schedules.flatMap(() => [
      el('th', { scope: 'col', class: 'first' }, 'Instruction'), el('th', { scope: 'col', class: 'numeric' }, 'Cycle'),
      el('th', { scope: 'col', class: 'numeric' }, model.classes[classNumber])])));

  function fill(count) {
    const rows = [];
    for (; shown < Math.min(count, model.n); shown++) rows.push(rowAt(shown));
    body.append(...rows);
    more.hidden = shown >= model.n;
    more.textContent = `Show more (${number(model.n - shown)} left)`;
    refreshMarks();
  }

  function rowAt(place) {
    const cells = schedules.flatMap((schedule) => {
      const instr = schedule.order[place];
      const pressure = schedule.pressure[classNumber][place + 1];
      const isPeak = schedule.peaks[classNumber].boundary === place + 1;
      return [
        el('td', { class: 'first', 'data-instr': instr },
          el('button', { type: 'button', class: 'open', tabindex: '-1' }, model.describe(instr)),
          moved.get(schedule).has(instr) ? el('span', { class: 'moved' }, movedFrom(schedule, instr)) : null),
        el('td', { class: 'numeric' }, number(schedule.cycles[instr])),
        el('td', { class: `numeric pressure${isPeak ? ' peak' : ''}`, style: `--share: ${((pressure / highest) * 100).toFixed(1)}%` },
          isPeak ? el('b', {}, 'peak ') : null, number(pressure)),
      ];
    });
    return el('tr', {}, el('th', { scope: 'row', class: 'numeric' }, number(place + 1)), cells);
  }

  /// ↑ from 17: earlier than in the other order.
  function movedFrom(schedule, instr) {
    const from = schedules.find((other) => other.name === schedule.against).position[instr];
    return ` ${from > schedule.position[instr] ? '↑' : '↓'} from ${number(from + 1)}`;
  }

  function titleOf(schedule) {
    const changes = schedule.against ? `, ${number(schedule.moved.length)} moved from ${schedule.against}` : '';
    return `${schedule.title}: ${number(schedule.length)} cycles${changes}`;
  }

  function choose(event) {
    const cell = event.target.closest('td[data-instr]');
    if (cell) selection.select(Number(cell.dataset.instr));
  }

  // Arrows go through the table; Tab goes on to what follows.
  function move(event) {
    const cell = event.target.closest('td');
    if (!cell) return;
    const row = cell.parentElement;
    const step = { ArrowUp: [row.previousElementSibling, 0], ArrowDown: [row.nextElementSibling, 0], ArrowLeft: [row, -3], ArrowRight: [row, 3],
      Home: [body.firstElementChild, 0], End: [body.lastElementChild, 0] }[event.key];
    const target = step?.[0]?.cells[cell.cellIndex + step[1]]?.querySelector('button');
    if (!target) return;
    event.preventDefault();
    target.focus();
  }

  function refreshMarks() {
    for (const cell of body.querySelectorAll('[aria-current]')) cell.removeAttribute('aria-current');
    const own = selection.instr === null ? [] : body.querySelectorAll(`[data-instr="${selection.instr}"]`);
    for (const cell of own) cell.setAttribute('aria-current', 'true');
    for (const button of body.querySelectorAll('button[tabindex="0"]')) button.tabIndex = -1;
    const reachable = own[own.length - 1] ?? body.querySelector('td[data-instr]');
    if (reachable) reachable.querySelector('button').tabIndex = 0;
    return own[own.length - 1];
  }

  fill(PORTION);
  const table = el('table', { id: 'side-by-side', class: 'side-by-side', 'aria-label': 'Instructions of all orders, side by side' }, head, body);
  const element = el('div', { class: 'table' }, scrollBox(table, 'Instructions of all orders, side by side'), more);
  const refresh = () => {
    if (selection.instr !== null) fill(Math.max(shown, ...schedules.map((schedule) => schedule.position[selection.instr] + 20)));
    refreshMarks()?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  return { element, refresh };
}
