create table if not exists notice_outbox (
  id bigint generated always as identity primary key,
  notice jsonb not null,
  -- Why it was refused: correct the notice, and set this to null.
  problem text
);
