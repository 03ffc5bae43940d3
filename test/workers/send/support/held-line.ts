import { Command, type Redis } from 'ioredis';

/** How Redis, and a gateway in front of it, refuse a command: in turn. */
const REFUSALS = [
  'NOREPLICAS Not enough good replicas to write.',
  'ERR max daily request limit exceeded. Limit: 10000, Usage: 10001.',
  'ERR Script killed by user with SCRIPT KILL... script: 694a5fe1, on @user_script:1.',
];

/** A connection whose commands the test holds, refuses or repeats. */
export class HeldLine {
  readonly redis: Redis;
  refuses = false;
  #refused = 0;
  /** The next command is executed twice; the second answer is read, as after a reconnect. */
  repeatsNext = false;
  /** Whether the command is of a run that was killed. */
  isDead = () => false;
  /** Called when a command was refused. */
  onRefusal = () => {};

  constructor(redis: Redis) {
    this.redis = redis;
    const send = redis.sendCommand.bind(redis);
    redis.sendCommand = (command, stream) => {
      const isScript = command.name === 'evalsha' || command.name === 'eval';
      if (this.isDead()) return new Promise(() => {});
      if (!isScript) return send(command, stream);
      if (this.refuses) {
        const refusal = new Error(REFUSALS[this.#refused++ % REFUSALS.length]);
        command.reject(Object.assign(refusal, { name: 'ReplyError' }));
        this.onRefusal();
        return command.promise;
      }
      if (this.repeatsNext) {
        this.repeatsNext = false;
        const first = new Command(command.name, [...command.args]);
        first.promise.catch(() => {});
        void send(first, stream);
      }
      return send(command, stream);
    };
  }
}
