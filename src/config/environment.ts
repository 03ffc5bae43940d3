/** Environment variables by name. A blank one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether a variable counts as not set: compose files and CI leave variables out by a blank value. */
export function isBlank(text: string | undefined): text is undefined {
  return text === undefined || text.trim() === '';
}

/** The environment of this process. Nothing else in the package reads it, and nothing changes it. */
export function processEnvironment(): Environment {
  return process.env;
}
