export { FakeNoticeQueue, type FakeImport, type SentNotice } from './fake-notice-queue.ts';
export { startTestStack, type TestStack, type TestStackOptions } from './test-stack.ts';
export { waitFor, type WaitOptions } from './wait-for.ts';
export { startEmulator, type Emulator } from '../emulator/emulator.ts';
export type { EmulatorOptions } from '../emulator/options.ts';
export type { Revocation } from '../emulator/controls.ts';
export type { Fault } from '../emulator/faults/fault.ts';
export type { AcceptedContact, RecordSummary } from '../emulator/service/record.ts';
