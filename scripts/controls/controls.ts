import { ACCESS_CONTROLS } from './access-controls.ts';
import type { Control } from './control.ts';
import { INPUT_CONTROLS } from './input-controls.ts';
import { PROVIDER_CONTROLS } from './provider-controls.ts';
import { PRIVACY_CONTROLS } from './privacy-controls.ts';

/** The controls of this program, in the order of docs/security-controls.md. */
export const CONTROLS: readonly Control[] = [
  ...PRIVACY_CONTROLS,
  ...ACCESS_CONTROLS,
  ...PROVIDER_CONTROLS,
  ...INPUT_CONTROLS,
];
