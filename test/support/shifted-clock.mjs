/// <reference types="node" />
// Loaded into a worker before anything else (NODE_OPTIONS=--import): its wall clock is CLOCK_SHIFT_MS
// milliseconds ahead, or behind where that is negative. The monotonic clock stays as it is.
const SHIFT = Number(process.env['CLOCK_SHIFT_MS']);
const RealDate = Date;

globalThis.Date = class Date extends RealDate {
  /** @param {[]} given */
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + SHIFT);
    else super(...given);
  }

  static now() {
    return RealDate.now() + SHIFT;
  }
};
