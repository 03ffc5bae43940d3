/** csv-parse reading a file and nothing else, as its documentation shows it and as it is fastest. */
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { nowMs } from '../harness/clock.ts';
import { tell } from './tell.ts';

const [, file = ''] = process.argv.slice(2);
const begunAt = nowMs();
let rows = 0;
for await (const _row of createReadStream(file).pipe(parse())) rows++;
tell({ rows: rows - 1, ms: nowMs() - begunAt });
