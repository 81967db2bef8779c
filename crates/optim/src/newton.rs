//! Newton's direction, for functions of few variables that know their second derivatives.

/// Solves H d = −g on the free components by Cholesky's method; 0 elsewhere. Of `hessian`, which is row by row, the
/// triangle below the diagonal is read and used up. False if it is not positive definite there, as far as numbers can
/// tell.
pub fn direct(hessian: &mut [f64], gradient: &[f64], free: &[bool], direction: &mut [f64]) -> bool {
    let n = gradient.len();
    for i in 0..n {
        direction[i] = if free[i] { -gradient[i] } else { 0.0 };
        for j in 0..=i {
            if !(free[i] && free[j]) {
                hessian[i * n + j] = if i == j { 1.0 } else { 0.0 };
            }
        }
    }
    if !factorise(hessian, n) {
        return false;
    }
    for i in 0..n {
        let known: f64 = (0..i).map(|j| hessian[i * n + j] * direction[j]).sum();
        direction[i] = (direction[i] - known) / hessian[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| hessian[j * n + i] * direction[j]).sum();
        direction[i] = (direction[i] - known) / hessian[i * n + i];
    }
    true
}

/// Puts L with H = L Lᵀ in the place of H's lower triangle.
fn factorise(hessian: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = hessian.split_at_mut(i * n);
        let size = row[i];
        for j in 0..i {
            let other = &above[j * n..][..=j];
            let sum: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let rest = size - row[..i].iter().map(|x| x * x).sum::<f64>();
        // What is left of a variable that depends on others is rounding error.
        if rest.is_nan() || rest <= 1e-12 * size {
            return false;
        }
        row[i] = rest.sqrt();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_direction_solves_the_equations(
            rows in prop::collection::vec(prop::collection::vec(-2.0..2.0f64, 5), 9),
            g in prop::collection::vec(-3.0..3.0f64, 5),
            free in prop::collection::vec(any::<bool>(), 5),
        ) {
            let h = |i: usize, j: usize| {
                rows.iter().map(|row| row[i] * row[j]).sum::<f64>() + if i == j { 0.1 } else { 0.0 }
            };
            let mut hessian: Vec<f64> = (0..25).map(|at| h(at / 5, at % 5)).collect();
            let mut d = [7.0; 5];
            prop_assert!(direct(&mut hessian, &g, &free, &mut d));
            for i in 0..5 {
                let product: f64 = (0..5).map(|j| h(i, j) * d[j]).sum();
                let solved = if free[i] { (product + g[i]).abs() < 1e-9 } else { d[i] == 0.0 };
                prop_assert!(solved, "{} {:?}", i, d);
            }
        }
    }

    #[test]
    fn what_is_flat_or_bends_down_is_refused() {
        let mut d = [0.0; 2];
        assert!(!direct(&mut [1.0, 1.0, 1.0, 1.0], &[1.0, 1.0], &[true, true], &mut d));
        assert!(direct(&mut [1.0, 1.0, 1.0, 1.0], &[1.0, 1.0], &[true, false], &mut d));
        assert_eq!(d, [-1.0, 0.0]);
        assert!(!direct(&mut [1.0, 0.0, 0.0, -1.0], &[1.0, 1.0], &[true, true], &mut d));
        assert!(!direct(&mut [f64::NAN; 4], &[1.0, 1.0], &[true, true], &mut d));
    }
}
