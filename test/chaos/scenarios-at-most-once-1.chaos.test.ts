import { playScenarios } from './support/play-scenarios.ts';

playScenarios('at-most-once', 0);
