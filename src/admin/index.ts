export { NoticeAdmin, type AdminOptions, type NoticeAdminOptions } from './notice-admin.ts';
export type {
  OperationInput,
  OperationName,
  OperationOutput,
} from '../ops/operations/operations.ts';
