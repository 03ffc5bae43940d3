// Removes the last build, so that a deleted source file leaves no stale output behind.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';

const dist = new URL('../dist/', import.meta.url);
rmSync(dist, { recursive: true, force: true });
// What `require` loads is compiled into this folder; without a word Node would take it for modules, as the rest.
mkdirSync(new URL('cjs/', dist), { recursive: true });
writeFileSync(new URL('cjs/package.json', dist), '{ "type": "commonjs" }\n');
