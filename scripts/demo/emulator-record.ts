/** The record of the emulator, with which the demo compares its result. */
export interface EmulatorRecord {
  /** Contacts accepted, repetitions included. */
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

/** Revokes the current token once this many contacts have been accepted. */
export async function expireTokenAfter(url: string, contacts: number): Promise<void> {
  const response = await fetch(`${url}/control/tokens/revoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ afterAccepted: contacts }),
  });
  if (!response.ok) throw new Error(`the emulator answered ${response.status}`);
}
