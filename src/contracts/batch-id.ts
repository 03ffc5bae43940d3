/** Ids of batches. They are part of Redis keys and job ids, so they must not contain a colon. */
export const BATCH_ID = /^[A-Za-z0-9_-]{1,64}$/;
