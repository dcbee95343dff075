// Runs the published vectors through the WebAssembly module.
//
//   node wasm/vectors.mjs MODULE           prints the reports, one line each
//   node wasm/vectors.mjs MODULE NATIVE    compares them with the lines of the file NATIVE, byte for byte
//
// `cargo xtask test wasm` writes NATIVE with the library itself (xtask/src/wasm/native.rs).

import { readFileSync, readdirSync } from 'node:fs';

import { tar } from './tar.mjs';
import { Verifier } from './verify.mjs';

const ROOT = new URL('../', import.meta.url);
const LINE_FEED = 0x0a;

// What is judged, and in which order. The same for the native reports is in xtask/src/wasm/native.rs.

// How a row of RER is judged: its kind decides.
const KINDS = {
  artifact: ({ file, key }) => job(`vectors/rer/${file}`, { format: 'rer', rawKey: read(`vectors/rer/${key}`) }),
  // The module gets as an archive what is judged natively as a folder: the report must not tell one from the other.
  bundle: ({ file }) => job(`vectors/rer/${file}`, { format: 'rer-bundle' }, tar(files(`vectors/rer/${file}`))),
};

// The indexes of vectors that are files: the folder, the member of the index that lists them, a row's file, the format.
const FILES = [
  ['vectors/model_io', 'files', ({ file }) => `files/${file}`, 'model-io'],
  ['vectors/replay_jsonl', 'vectors', ({ dir, replay }) => `${dir}/${replay}`, 'replay-jsonl'],
  ['vectors/replay_bundle', 'bundles', ({ file }) => file, 'replay-bundle'],
];

// Whole .rpk documents.
const RPK_EXAMPLES = ['invoice.bundle', 'invoice.rpk', 'legacy-0.9.rpk', 'minimal.rpk'];

// Texts with the canonical form that .rpk gives them. Each becomes the payload of a document without a checksum: the
// report says which one it should have.
const RPK_TEXTS = ['canonical', 'canonical_floats', 'canonical_fuzz', 'canonical_paths', 'canonical_timestamps'];

const read = (name) => new Uint8Array(readFileSync(new URL(name, ROOT)));
const readText = (name) => readFileSync(new URL(name, ROOT), 'utf8');
const job = (target, options, bytes = read(target)) => ({ bytes, options: { ...options, target } });

// All files under a folder, as pairs of a name and its content.
function files(folder, prefix = '') {
  return readdirSync(new URL(`${folder}/`, ROOT), { withFileTypes: true }).flatMap((entry) => {
    const [path, name] = [`${folder}/${entry.name}`, `${prefix}${entry.name}`];
    return entry.isDirectory() ? files(path, `${name}/`) : [[name, read(path)]];
  });
}

function rpkTexts(name) {
  const lines = readText(name).split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    const document = `{"version":"1.0","metadata":{},"payload":${JSON.parse(line).input_text}}`;
    return job(`${name}:${index + 1}`, { format: 'rpk' }, new TextEncoder().encode(document));
  });
}

const [modulePath, nativePath] = process.argv.slice(2);
if (modulePath === undefined) {
  console.error('use: node wasm/vectors.mjs MODULE [NATIVE]');
  process.exit(2);
}
const module = readFileSync(modulePath);
const verifier = await Verifier.from(module);
const { vectors: rows } = JSON.parse(readText('vectors/rer/index.json'));
const jobs = [
  ...rows.filter(({ kind }) => kind in KINDS).map((row) => KINDS[row.kind](row)),
  ...FILES.flatMap(([folder, list, file, format]) =>
    JSON.parse(readText(`${folder}/index.json`))[list].map((row) => job(`${folder}/${file(row)}`, { format })),
  ),
  ...RPK_EXAMPLES.map((name) => job(`examples/runs/${name}`, { format: 'rpk' })),
  ...RPK_TEXTS.flatMap((name) => rpkTexts(`vectors/rpk/${name}.jsonl`)),
];
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
      console.log(`${job.options.target}: the reports differ\n  native ${expected}\n  wasm   ${found}`);
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
  console.log(`the module has ${module.length} bytes and verifies ${speed.toFixed(0)} MB/s (${largest.options.target})`);
}
