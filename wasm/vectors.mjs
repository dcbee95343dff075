// Runs the published vectors through the WebAssembly module.
//
//   node wasm/vectors.mjs MODULE           prints the reports, one line each
//   node wasm/vectors.mjs MODULE NATIVE    compares them with the lines of the file NATIVE, byte for byte
//
// `cargo xtask test wasm` writes NATIVE with the library itself (xtask/src/wasm/native.rs).

import { readFileSync, readdirSync } from 'node:fs';

import { tar } from './tar.mjs';
import { Verifier } from './verify.mjs';

const VECTORS = new URL('../vectors/rer/', import.meta.url);
const LINE_FEED = 0x0a;

// How a row is judged: its kind decides. The same table for the native reports is in xtask/src/wasm/native.rs.
const KINDS = {
  artifact: (row) => ({ bytes: read(row.file), options: { format: 'rer', rawKey: read(row.key), target: row.file } }),
  // The module gets as an archive what is judged natively as a folder: the report must not tell one from the other.
  bundle: (row) => ({ bytes: tar(files(row.file)), options: { format: 'rer-bundle', target: row.file } }),
};

const read = (name) => new Uint8Array(readFileSync(new URL(name, VECTORS)));

// All files under a folder, as pairs of a name and its content.
function files(folder, prefix = '') {
  return readdirSync(new URL(`${folder}/`, VECTORS), { withFileTypes: true }).flatMap((entry) => {
    const [path, name] = [`${folder}/${entry.name}`, `${prefix}${entry.name}`];
    return entry.isDirectory() ? files(path, `${name}/`) : [[name, read(path)]];
  });
}

const [modulePath, nativePath] = process.argv.slice(2);
if (modulePath === undefined) {
  console.error('use: node wasm/vectors.mjs MODULE [NATIVE]');
  process.exit(2);
}
const module = readFileSync(modulePath);
const verifier = await Verifier.from(module);
const { vectors: rows } = JSON.parse(readFileSync(new URL('index.json', VECTORS), 'utf8'));
const jobs = rows.filter(({ kind }) => kind in KINDS).map((row) => ({ id: row.id, ...KINDS[row.kind](row) }));
const report = ({ bytes, options }) => verifier.verifyText(bytes, options);

if (nativePath === undefined) {
  process.stdout.write(jobs.map((job) => `${report(job)}\n`).join(''));
} else {
  process.exitCode = compare(readFileSync(nativePath)) ? 0 : 1;
  tellOtherKinds();
  tellSpeed();
}

// Whether each report is the native one. Prints both where not.
function compare(native) {
  let rest = native;
  let different = 0;
  for (const job of jobs) {
    const end = rest.indexOf(LINE_FEED);
    const expected = end < 0 ? rest : rest.subarray(0, end);
    rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
    const found = Buffer.from(report(job));
    if (!found.equals(expected)) {
      different += 1;
      console.log(`${job.id}: the reports differ\n  native ${expected}\n  wasm   ${found}`);
    }
  }
  if (rest.length > 0) {
    different += 1;
    console.log(`native reports without one of the module:\n${rest}`);
  }
  console.log(`${jobs.length} reports of the module compared with native ones, ${different} differ`);
  return different === 0 && jobs.length > 0;
}

// A kind that nobody runs is told, so that its vectors do not go missing unseen.
function tellOtherKinds() {
  const others = rows.filter(({ kind }) => !(kind in KINDS));
  const kinds = [...new Set(others.map(({ kind }) => kind))].join(', ');
  if (others.length > 0) console.log(`${others.length} rows not compared, of kind ${kinds}`);
}

// For information: the largest artifact again and again, about 5 MB in all.
function tellSpeed() {
  const largest = jobs.reduce((a, b) => (a.bytes.length >= b.bytes.length ? a : b));
  const turns = Math.ceil(5e6 / largest.bytes.length);
  const start = performance.now();
  for (let turn = 0; turn < turns; turn += 1) report(largest);
  const seconds = (performance.now() - start) / 1000;
  const speed = (turns * largest.bytes.length) / 1e6 / seconds;
  console.log(`the module has ${module.length} bytes and verifies ${speed.toFixed(0)} MB/s (${largest.id})`);
}
