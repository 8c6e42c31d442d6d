//! The seeds of the simulation, its seeded mistakes, and its server beside a real one.

mod equal;
mod seeded_bugs;
mod seeds;
