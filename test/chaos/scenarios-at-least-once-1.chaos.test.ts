import { describeScenarios } from './support/describe-scenarios.ts';

describeScenarios('at-least-once', 1);
