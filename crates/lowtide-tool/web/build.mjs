// Builds the scripts and the style in dist/, which the program carries in itself:
//
//   lib.js     what all pages share (src/lib), with ECharts; it becomes the global `lowtide`
//   NAME.js    one page (src/NAME.js), which takes what it needs from that global
//   style.css  the style of all pages
//   LICENSES.txt  the licences of what is in these scripts
//
// `node build.mjs FOLDER` writes to another folder, for a comparison.
import { build } from 'esbuild';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';

const out = process.argv[2] ?? 'dist';
const shared = {
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2022'],
  charset: 'utf8',
  legalComments: 'none', // LICENSES.txt has them
  logLevel: 'warning',
};

// Pages import from './lib/index.js' as usual; in the bundle, that is the global of lib.js.
const libraryIsGlobal = {
  name: 'library-is-global',
  setup(builder) {
    builder.onResolve({ filter: /\/lib\/index\.js$/ }, () => ({ path: 'lowtide', namespace: 'global' }));
    builder.onLoad({ filter: /.*/, namespace: 'global' }, () => ({ contents: 'module.exports = lowtide' }));
  },
};

const library = await build({
  ...shared,
  entryPoints: ['src/lib/index.js'],
  globalName: 'lowtide',
  outfile: `${out}/lib.js`,
  metafile: true,
});
const scripts = [library];
const pages = readdirSync('src').filter((name) => name.endsWith('.js'));
for (const page of pages) {
  scripts.push(await build({
    ...shared,
    entryPoints: [`src/${page}`],
    outfile: `${out}/${page}`,
    plugins: [libraryIsGlobal],
    metafile: true,
  }));
}
await build({ ...shared, entryPoints: ['src/style.css'], outfile: `${out}/style.css` });

// The licence of every package that is in a script, in full.
const packages = new Set();
for (const input of scripts.flatMap((script) => Object.keys(script.metafile.inputs))) {
  const inside = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (inside) packages.add(inside[1]);
}
let licences = 'The scripts of this page contain parts of these packages.\n';
for (const name of [...packages].sort()) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  licences += `\n${'='.repeat(78)}\n${name} ${version} (${license})\n${'='.repeat(78)}\n`;
  for (const file of readdirSync(folder, { recursive: true }).sort()) {
    const isLicence = /(^|\/)(licen[cs]e|notice|copyright)[^/]*$/i.test(file) && !file.includes('node_modules/');
    if (isLicence && statSync(`${folder}/${file}`).isFile()) {
      licences += `\n${readFileSync(`${folder}/${file}`, 'utf8').replace(/[ \t\r]+$/gm, '').trim()}\n`;
    }
  }
}
writeFileSync(`${out}/LICENSES.txt`, licences);
