/** A control of security, how it is disabled, and the test that has to fail then. */
export interface Control {
  /** What it prevents. */
  readonly prevents: string;
  readonly file: string;
  /** Text of the file that occurs once, and what disables the control in its place. */
  readonly from: string;
  readonly to: string;
  /** Test file below `test/`. */
  readonly test: string;
  /** Words of the name of the test that fails. */
  readonly words: string;
}
