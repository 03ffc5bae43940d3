/** Something that happens once, and can be waited for. */
export interface Signal {
  readonly given: Promise<void>;
  /** May be called again. */
  readonly give: () => void;
}

export function signal(): Signal {
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
