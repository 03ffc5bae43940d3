/** Tells the parent. */
export function tell(message: object): void {
  process.send?.(message);
}
