//! The seeds of the simulation, its seeded mistakes, and a comparison of its server with a real one.

mod equal;
mod seeded_bugs;
mod seeds;
