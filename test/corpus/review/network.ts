import type { Case } from '../case.ts';

const RULES = 'config/rules.test.ts';
const LIBRARY = 'producer/notice-queue-input.integration.test.ts';
const TLS = 'redis/tls.integration.test.ts';
const USERS = 'redis/users.integration.test.ts';
const COMPOSE = 'scripts/compose.test.ts';
const COMPOSE_REDIS = 'scripts/compose-redis.integration.test.ts';
const DEPENDENCIES = 'scripts/dependencies.test.ts';
const SECURITY = 'docs/security-page.test.ts';
const PROGRAM = 'canary/whole-program.fleet.test.ts';

/** Points 14 to 18, and what the issue asks for as a proof. */
export const NETWORK_CASES: readonly Case[] = [
  ['14 Sentinel over TLS', TLS, 'reaches Sentinels and the master they name with TLS only'],
  ['14 a remote Redis without TLS', RULES, "describe('Redis without TLS'"],
  ['14 a remote Redis without TLS, in the library', LIBRARY, "redis: { url: 'redis://h' } }"],
  ['14 a remote plain proxy before a local address', RULES, 'a local service behind a proxy'],
  ['14 the switch for Redis', RULES, 'INSECURE_HOSTS ='],
  ['14 the switch for the service', RULES, "INSECURE_HOSTS: 'localhost'"],
  ['14 no verification, in commands', RULES, 'verification of certificates cannot be switched off'],
  ['14 no verification, in the library', LIBRARY, 'while Node.js checks no certificates'],
  ['14 mutual TLS to the service', 'service/send.test.ts', 'a service that demands one'],
  ['14 mutual TLS to Redis', TLS, 'shows its certificate to a Redis that demands one'],

  ['15 the user of a producer', USERS, "it('a producer: "],
  ['15 the user of an importer', USERS, "it('an importer: "],
  ['15 the user of a worker', USERS, "it('a worker: "],
  ['15 the user of the ops server', USERS, "it('an operator: "],
  ['15 with nothing refused', USERS, 'expect(await redis.refused()).toEqual([])'],
  ['15 least privilege', USERS, "describe('a user cannot'"],
  ['15 the lines in docs/redis.md', USERS, 'the documented lines are those of the ACL file'],
  ['15 the users in compose', COMPOSE, 'each program is a Redis user of its own'],
  ['15 tests as these users', USERS, "describe('each program as the user of its kind"],
  ['15 a missing permission', 'redis/permission.integration.test.ts', 'refused with the reason'],

  ['16 secrets as files', COMPOSE, 'gets none in its environment, and the files it names'],
  ['16 no secret in argv', COMPOSE, 'no command line has one'],
  ['16 password and ACL file of Redis', COMPOSE_REDIS, 'Redis starts with the users'],
  ['16 limits of memory', COMPOSE, '%s has a limit of memory'],
  ['16 INSECURE_HOSTS', COMPOSE, 'plain http is for the emulator alone'],
  ['16 images by digest', COMPOSE, 'each image can be named by its digest'],
  ['16 the image: non-root', COMPOSE, 'the image runs as a user without rights'],
  ['16 the image: read-only', COMPOSE, 'and a read-only root'],
  ['16 the image: SBOM', COMPOSE, 'the image lists the packages that it contains'],

  ['17 integrity hashes', DEPENDENCIES, "['without a hash'"],
  ['17 hashes of native packages', DEPENDENCIES, 'a native tool of another system without a hash'],
  ['17 licences', DEPENDENCIES, "'with a licence that binds us'"],
  ['17 install scripts', DEPENDENCIES, "'with an install script'"],
  ['17 new dependencies', DEPENDENCIES, "'that is new'"],
  ['17 docs/dependencies.md', DEPENDENCIES, "it('of direct dependencies'"],
  ['17 the gate of CI', DEPENDENCIES, 'our dependencies pass'],

  ['18 the threat model', SECURITY, "section('Threat model')"],
  ['18 what is promised', SECURITY, '%s is shown by a test'],
  ['18 how to report', SECURITY, "section('Report a fault')"],

  ['proof canaries through the whole program', PROGRAM, 'pass through every command'],
  ['proof any form', 'canary/search.test.ts', "describe('a planted canary is found'"],
  [
    'proof numbers with separators',
    'canary/search.test.ts',
    "describe('a planted number is found'",
  ],
  ['proof a dictionary of the numbers', 'canary/search.test.ts', 'breaks the hash of a notice'],
  ['proof image layers', 'canary/containers.test.ts', 'in a file of a layer'],
  ['proof each control is disabled', 'scripts/controls.test.ts', 'can be disabled, and has its'],
];
