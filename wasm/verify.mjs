// The judge in a browser, in Node, or wherever there is WebAssembly.
//
//   import { Verifier } from './verify.mjs';
//   const verifier = await Verifier.from(bytesOfTheModule);
//   const report = verifier.verify(bytesOfTheRecord, { key: bytesOfTheKeyFile });
//   report.pass;
//
// The report is that of `reenact verify --json`. Nothing leaves the page: the module imports nothing, so it has neither
// network nor clock, and cannot ask for them.

const UTF8 = new TextEncoder();
// Strict, and it keeps a byte order mark: the text is the module's, byte for byte.
const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

// What the module is told about the key.
const NO_KEY = 0;
const KEY_FILE = 1;
const RAW_KEY = 2;

export class Verifier {
  #module;
  #exports;

  // `bytes`: the content of reenact_verify_wasm.wasm.
  static async from(bytes) {
    const module = await WebAssembly.compile(bytes);
    const imports = WebAssembly.Module.imports(module);
    if (imports.length !== 0) {
      const names = imports.map(({ module, name }) => `${module}.${name}`).join(', ');
      throw new TypeError(`this is not the verifier: it asks for ${names}`);
    }
    const verifier = new Verifier();
    verifier.#module = module;
    verifier.#exports = (await WebAssembly.instantiate(module)).exports;
    return verifier;
  }

  // The report as an object. Options, none of them needed:
  //   key      bytes of a key file: 32 raw bytes, JWK, JWKS, or SPKI in DER or PEM
  //   rawKey   bytes that must be a raw key and nothing else; not together with `key`
  //   format   judge by this format's checks, such as 'rer', whatever the content looks like
  //   target   what the report shall call the record
  // A record that cannot be judged as asked (the key is no key, the format has no such name) has `error` in its report.
  verify(bytes, options) {
    return JSON.parse(this.verifyText(bytes, options));
  }

  // The same as one line of JSON, as the module wrote it.
  verifyText(bytes, { key, rawKey, format = '', target = '' } = {}) {
    if (key !== undefined && rawKey !== undefined) {
      throw new TypeError('give `key` or `rawKey`, not both');
    }
    const form = key !== undefined ? KEY_FILE : rawKey !== undefined ? RAW_KEY : NO_KEY;
    try {
      this.#fill('input', bytes);
      this.#fill('key', key ?? rawKey ?? new Uint8Array());
      this.#fill('format', UTF8.encode(format));
      this.#fill('target', UTF8.encode(target));
      const length = this.#exports.verify(form) >>> 0;
      return TEXT.decode(this.#memory(this.#exports.report(), length));
    } catch (error) {
      // After a trap the module's stack is where the trap left it, and what was filled in stays: begin anew.
      this.#exports = new WebAssembly.Instance(this.#module).exports;
      throw error;
    }
  }

  #fill(name, bytes) {
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`${name}: give a Uint8Array`);
    }
    const address = this.#exports[name](bytes.length);
    if (address === 0) {
      throw new RangeError(`${name}: ${bytes.length} bytes are too many for the verifier in WebAssembly`);
    }
    this.#memory(address, bytes.length).set(bytes);
  }

  // Made anew each time, for a view of a memory that has grown since is empty. Addresses arrive signed.
  #memory(address, length) {
    return new Uint8Array(this.#exports.memory.buffer, address >>> 0, length);
  }
}
