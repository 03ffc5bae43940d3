import { ACCESS_CONTROLS } from './access-controls.ts';
import { AUDIT_CONTROLS } from './audit-controls.ts';
import type { Control } from './control.ts';
import { DEPLOYMENT_CONTROLS } from './deployment-controls.ts';
import { FILE_CONTROLS } from './file-controls.ts';
import { INPUT_CONTROLS } from './input-controls.ts';
import { PRIVACY_CONTROLS } from './privacy-controls.ts';
import { SIGN_IN_CONTROLS } from './sign-in-controls.ts';

/** The controls of this program. */
export const CONTROLS: readonly Control[] = [
  ...PRIVACY_CONTROLS,
  ...ACCESS_CONTROLS,
  ...AUDIT_CONTROLS,
  ...INPUT_CONTROLS,
  ...FILE_CONTROLS,
  ...SIGN_IN_CONTROLS,
  ...DEPLOYMENT_CONTROLS,
];
