/// <reference types="node" />
// The program of docs/library.md that runs a worker: it ends when nothing is left to do after the stop.
import { startNoticeWorker } from 'notice-queue/worker';

const worker = await startNoticeWorker();
process.once('SIGTERM', () => void worker.stop());
