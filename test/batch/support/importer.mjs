// One import in a process of its own, to be killed at any moment. It is started by plain node and
// runs on the built files; their types are those of the sources.
const built = new URL('../../../dist/src/index.js', import.meta.url).href;
const { NoticeQueue } = /** @type {typeof import('../../../src/index.ts')} */ (await import(built));

const [url, prefix = '', file = '', highWater = '1000000'] = process.argv.slice(2);
const queue = new NoticeQueue({ redis: { url }, prefix });
const report = await queue.import(file, {
  templateCode: 'T',
  chunkSize: 100,
  highWater: Number(highWater),
  // Signals the parent process that the import is under way.
  onProgress: ({ rows }) => process.stdout.write(`${rows}\n`),
});
process.stdout.write(`${JSON.stringify(report)}\n`);
await queue.close();
