/// <reference types="node" />
// Loaded into a program before anything else (NODE_OPTIONS=--import): at SIGUSR2 a promise is rejected that nothing
// awaits, with an error as the Redis client has them.
process.on('SIGUSR2', () => {
  const error = Object.assign(new Error('ERR wrong value\n 01098765432\n for a command'), {
    command: { name: 'hset', args: ['key', '{"contact":"01098765432","var1":"canary"}'] },
  });
  void Promise.reject(error);
});
