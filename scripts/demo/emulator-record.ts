/** The emulator's own account of what it took; the demo judges itself by nothing else. */
export interface EmulatorRecord {
  /** Contacts accepted, repeats counted. */
  readonly contacts: number;
  /** Different numbers among them. */
  readonly distinct: number;
  /** Numbers accepted more than once. */
  readonly twice: number;
  readonly tokens: { readonly issued: number };
}

/** Reads the record. */
export async function readRecord(url: string): Promise<EmulatorRecord> {
  const response = await fetch(`${url}/control/record`);
  return (await response.json()) as EmulatorRecord;
}

/** Lets the live token die once so many contacts have been accepted. */
export async function expireTokenAfter(url: string, contacts: number): Promise<void> {
  const response = await fetch(`${url}/control/tokens/revoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ afterAccepted: contacts }),
  });
  if (!response.ok) throw new Error(`the emulator answered ${response.status}`);
}
