import type { Control } from './control.ts';

/** Controls of the audit stream: searches and exports that are recorded in it, and its size. */
export const AUDIT_CONTROLS: readonly Control[] = [
  {
    prevents: 'searches for a person that leave no trace',
    file: 'src/ops/operations/number.ts',
    from: 'await auditSearch(context, actor, digits);\n  return findInQueue',
    to: 'return findInQueue',
    test: 'ops/web/find.integration.test.ts',
    words: 'is in the audit stream with the masked number',
  },
  {
    prevents: 'downloads of contacts that leave no trace',
    file: 'src/ops/web/http/operation-routes.ts',
    from: 'await appendAudit(context, actor, list.entry);',
    to: '',
    test: 'ops/web/failures.integration.test.ts',
    words: 'are listed, downloaded, sent again and given up',
  },
  {
    prevents: 'an operator who displaces the audit stream',
    file: 'src/ops/audit.ts',
    from: 'MOST = 1_000_000',
    to: 'MOST = 10_000',
    test: 'ops/audit.integration.test.ts',
    words: 'displaces none',
  },
  {
    prevents: 'searches for a person among unknown outcomes that leave no trace',
    file: 'src/ops/operations/failures.ts',
    from: 'if (digits !== undefined) await auditSearch(context, actor, digits);',
    to: '',
    test: 'ops/web/failures.integration.test.ts',
    words: 'a preview by number is recorded as a search',
  },
  {
    prevents: 'erasures that leave no trace of the search for their number',
    file: 'src/ops/operations/number.ts',
    from: 'await auditSearch(context, actor, digits);\n  const erasure',
    to: 'const erasure',
    test: 'erase/erase-number.integration.test.ts',
    words: 'leaves nothing of a number in Redis but its mask in the audit',
  },
  {
    prevents: 'exports on the command line that leave no trace',
    file: 'src/cli/run-operation.ts',
    from: 'await appendAudit(target, actor, entry);',
    to: '',
    test: 'cli/why.integration.test.ts',
    words: 'exports of a batch, searches',
  },
];
