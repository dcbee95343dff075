// What `verify.mjs` does beyond what the vectors show. Run by `cargo xtask test wasm`, with the module's path in MODULE.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Verifier } from './verify.mjs';

const module = readFileSync(process.env.MODULE);
const vector = (name) => new Uint8Array(readFileSync(new URL(`../vectors/rer/${name}`, import.meta.url)));
const artifact = vector('valid/v02_minimal_v01.json');
const verifier = await Verifier.from(module);

const failed = ({ checks }) => Object.keys(checks).filter((name) => checks[name] === false);

test('a key file of any form', () => {
  for (const key of ['keys/alpha.bin', 'keys/alpha.jwk', 'keys/alpha.spki.der'].map(vector)) {
    const report = verifier.verify(artifact, { key, target: 'run.rer.json' });
    assert.equal(report.target, 'run.rer.json');
    assert.equal(report.pass, true, report.reasons.join('\n'));
    assert.equal(report.signer.trust, 'supplied');
  }
});

test('a raw key is 32 bytes and nothing else', () => {
  const signatures = ['envelope_signature', 'runtime_signature'];
  assert.equal(verifier.verify(artifact, { rawKey: vector('keys/alpha.bin') }).pass, true);
  assert.deepEqual(failed(verifier.verify(artifact, { rawKey: vector('keys/alpha.spki.der') })), signatures);
});

test('no key and an empty key are not the same', () => {
  const none = verifier.verify(artifact);
  const empty = verifier.verify(artifact, { rawKey: new Uint8Array() });
  assert.match(empty.reasons.join('\n'), /an Ed25519 public key has 32 bytes, this has 0/);
  assert.notDeepEqual(none.reasons, empty.reasons);
});

test('content decides unless a format is named', () => {
  const braces = UTF8('{}');
  assert.equal(verifier.verify(braces).format, 'unknown');
  assert.equal('schema_valid' in verifier.verify(braces, { format: 'rer' }).checks, true);
});

test('what cannot be judged as asked has a code', () => {
  const { error } = verifier.verify(artifact, { key: UTF8('a key') });
  assert.equal(error.code, 'E_KEY');
  assert.equal(verifier.verify(artifact, { format: 'rar' }).error.code, 'E_FORMAT');
});

test('nothing of one record is there for the next', () => {
  const alone = verifier.verifyText(UTF8('{}'));
  verifier.verify(artifact, { key: vector('keys/alpha.bin'), format: 'rer', target: 'a' });
  assert.equal(verifier.verifyText(UTF8('{}')), alone);
});

test('a target is printed as the command prints it', () => {
  assert.equal(verifier.verify(artifact, { target: 'ü/\u0000"\ufeff' }).target, 'ü/\u0000"\ufeff');
});

test('wrong use is an exception, and the verifier goes on', () => {
  assert.throws(() => verifier.verify('{}'), TypeError);
  assert.throws(() => verifier.verify(artifact, { key: artifact, rawKey: artifact }), TypeError);
  const long = 'x'.repeat((1 << 16) + 1);
  assert.throws(() => verifier.verify(artifact, { target: long }), RangeError);
  assert.equal(verifier.verify(artifact, { key: vector('keys/alpha.bin') }).pass, true);
});

test('a module that asks for something is refused', async () => {
  // (module (import "env" "now" (func)))
  const asks = '0061736d01000000' + '010401600000' + '020b0103656e76036e6f770000';
  await assert.rejects(Verifier.from(Buffer.from(asks, 'hex')), /it asks for env\.now/);
});

function UTF8(text) {
  return new TextEncoder().encode(text);
}
