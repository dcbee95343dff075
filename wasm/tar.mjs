// Files as one plain tar (POSIX ustar): how a folder gets into the verifier, which takes bytes.

const BLOCK = 512;
const UTF8 = new TextEncoder();

// `files`: pairs of a name, of at most 100 bytes, and its content.
export function tar(files) {
  const blocks = files.flatMap(([name, content]) => [header(name, content.length), padded(content)]);
  // Two empty blocks end an archive.
  return joined([...blocks, new Uint8Array(2 * BLOCK)]);
}

function header(name, size) {
  const block = new Uint8Array(BLOCK);
  const put = (at, text) => block.set(UTF8.encode(text), at);
  const octal = (number, digits) => number.toString(8).padStart(digits, '0');
  if (UTF8.encode(name).length > 100) throw new RangeError(`${name}: too long a name for a plain tar`);
  put(0, name);
  put(100, `${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`);
  put(124, `${octal(size, 11)}\0${octal(0, 11)}\0`);
  // The checksum counts its own field as blanks.
  put(148, ' '.repeat(8));
  put(156, '0');
  put(257, 'ustar\x0000');
  put(148, `${octal(block.reduce((sum, byte) => sum + byte, 0), 6)}\0 `);
  return block;
}

function padded(content) {
  const blocks = new Uint8Array(Math.ceil(content.length / BLOCK) * BLOCK);
  blocks.set(content);
  return blocks;
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
