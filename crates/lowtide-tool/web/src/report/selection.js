// The selected instruction of a region. Every tab marks it, and every tab can select another one.

export class Selection {
  #listeners = new Set();

  constructor(instr = null) {
    this.instr = instr;
  }

  /// Select an instruction, or none (null). Listeners are called if that is a change.
  select(instr) {
    if (instr === this.instr) return;
    this.instr = instr;
    for (const listener of this.#listeners) listener(instr);
  }

  subscribe(listener) {
    this.#listeners.add(listener);
  }
}

/// Call `update` when the selection changes. A tab that is hidden is updated when it is shown.
export function follow(panel, selection, update) {
  let isStale = false;
  selection.subscribe(() => {
    if (panel.hidden) isStale = true;
    else update();
  });
  panel.addEventListener('shown', () => {
    if (isStale) update();
    isStale = false;
  });
}
