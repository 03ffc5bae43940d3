import { playScenarios } from './support/play-scenarios.ts';

playScenarios('at-least-once', 0);
