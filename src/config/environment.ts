/** Environment variables by name. A blank one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. Nothing else in the package reads it, and nothing changes it. */
export function processEnvironment(): Environment {
  return process.env;
}
