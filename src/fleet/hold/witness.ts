/**
 * Lua: what a notice met, from its stored text (evidence-scripts.ts describes it); nil where that is not known, or from
 * before a failover. Refusals and pages are apart from what all others may meet, too: an acceptance that contradicts the
 * one kind says nothing about the other. An earlier version did not tell them apart: of its records only the rows and
 * the attempt count.
 */
export const READ_WITNESS = `
local function readWitness(text)
  if not text then return nil end
  local refusedAt, refusedN, token, troubleAt, troubleN, proof, refused, unknown, id, verdict =
    string.match(text, '^(%d+) (%d+) (%S*) (%d+) (%d+) (%d+) (%d) (%d) (%S*) (%S*)$')
  local at = refusedAt and math.max(refusedAt, troubleAt)
  if not at then
    at, proof, refused, unknown, id, verdict =
      string.match(text, '^(%d+) (%d+) %d+ (%d) (%d) %S* (%S*) (%S*)$')
  end
  if not at or tonumber(at) > count('meetings') then return nil end
  local inRow = tonumber(proof) == count('proof')
  return { id = id, verdict = verdict,
    refusals = { at = tonumber(refusedAt or 0), n = tonumber(refusedN or 0), token = token or '' },
    troubles = { at = tonumber(troubleAt or 0), n = tonumber(troubleN or 0), token = '' },
    refused = refused == '1' and inRow, unknown = unknown == '1' and inRow,
    held = verdict == 'held' and inRow }
end
`;
