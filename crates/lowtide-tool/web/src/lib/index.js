// What all pages share.
export * from './charts.js';
export * from './data.js';
export * from './dom.js';
export * from './format.js';
export * from './scrollbox.js';
export * from './table.js';
export * from './tabs.js';
export * from './theme.js';
export * from './zoombox.js';
