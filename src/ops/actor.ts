/** Who does something by hand, and why: for the audit stream. */
export interface Actor {
  readonly who: string;
  /** In the person's own words; may be empty. */
  readonly why: string;
}
