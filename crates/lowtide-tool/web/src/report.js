// The report of `lowtide view`: an overview of all kernels, a page for each, and one for each region with its tabs.
// The address behind # says what is shown (report/address.js), so that links and the browser's buttons work.
import { el, readData, readPart, themeSwitch } from './lib/index.js';
import { addressOf, parseAddress } from './report/address.js';
import { kernelPage, overviewPage } from './report/overview.js';
import { regionPage } from './report/region.js';

const { title } = readData();
const main = el('main', { id: 'main', tabindex: '-1' });

async function show(overview) {
  const address = parseAddress(location.hash);
  const kernel = overview.kernels[address.kernel];
  const region = kernel?.regions[address.region];
  if (region) await regionPage(main, overview, kernel, region, address);
  else if (kernel) kernelPage(main, overview, kernel);
  else overviewPage(main, overview);
  document.title = main.querySelector('h2') ? `${main.querySelector('h2').textContent} – ${title}` : title;
}

async function start() {
  document.getElementById('page').append(
    el('a', { class: 'skip', href: '#main', onclick: (event) => { event.preventDefault(); main.focus(); } }, 'Skip to the content'),
    el('header', {}, el('h1', {}, title), themeSwitch()),
    main,
  );
  const overview = await readPart(0);
  overview.kernels.forEach((kernel, number) => {
    kernel.number = number;
    kernel.regions.forEach((region, position) => {
      region.number = position;
      region.kernel = kernel;
    });
  });
  document.getElementById('page').append(
    el('footer', { class: 'muted' },
      el('p', {}, 'Made by ', el('code', {}, overview.command), ` (Lowtide ${overview.version}).`),
      el('details', {}, el('summary', {}, 'Licences of what draws this page'),
        el('pre', {}, document.getElementById('licences').textContent))),
  );
  addEventListener('hashchange', async () => {
    await show(overview);
    // Where a link was followed, reading goes on at what it led to.
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  // Where there is nothing to choose from, nobody should have to.
  if (overview.kernels.length === 1 && !location.hash) {
    // The front is on the page of the kernel.
    const [{ regions, front }] = overview.kernels;
    history.replaceState(null, '', addressOf({ kernel: 0, region: regions.length === 1 && !front ? 0 : null }));
  }
  await show(overview);
  document.documentElement.dataset.ready = 'true';
}

start();
