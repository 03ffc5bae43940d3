import { hostname, userInfo } from 'node:os';

/** Who runs the command, for the audit stream: the user of the system and the host. */
export function whoAmI(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without a name, as containers have.
    return String(process.getuid?.() ?? 'unknown');
  }
}
